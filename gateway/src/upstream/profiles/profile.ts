/** Defaults of a provider: texts of settings by name, as an environment would have them. An empty one means none. */
export type Profile = { readonly [setting: `UPSTREAM_${string}`]: string };
