import type { Profile } from "./profile.ts";

/** Any OpenAI-compatible provider: the defaults of the settings. */
export const generic: Profile = {};
