import type { ReactNode } from "react";
import { useRoute } from "../route.ts";
import Receipt from "./receipt.tsx";
import Spending from "./spending.tsx";

export default function Activity(): ReactNode {
  const { rest } = useRoute();
  return rest === "" ? <Spending /> : <Receipt />;
}
