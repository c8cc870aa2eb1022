import {
  Activity,
  Bot,
  ChartColumn,
  House,
  KeyRound,
  Layers,
  type LucideIcon,
  MessageSquare,
  Settings,
  ShieldCheck,
  Wallet,
} from "lucide-react";

/** A page of the menus. */
export type Place = { name: string; title: string; Icon: LucideIcon };

export const places: readonly Place[] = [
  { name: "", title: "Home", Icon: House },
  { name: "chat", title: "Chat", Icon: MessageSquare },
  { name: "models", title: "Models", Icon: Layers },
  { name: "keys", title: "Keys", Icon: KeyRound },
  { name: "activity", title: "Activity", Icon: ChartColumn },
  { name: "funds", title: "Funds", Icon: Wallet },
  { name: "agents", title: "Agents", Icon: Bot },
  { name: "verify", title: "Verify", Icon: ShieldCheck },
  { name: "status", title: "Status", Icon: Activity },
  { name: "settings", title: "Settings", Icon: Settings },
];

/** The places that the bar at the bottom of a small screen has. The others are under "More". */
export const FIRST_PLACES: readonly string[] = ["", "chat", "activity", "funds"];
