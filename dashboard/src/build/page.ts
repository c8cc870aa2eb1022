/** The HTML page. It names all files of the first view, so that the browser fetches them at once. */
export function pageOf(files: { entry: string; style: string; icon: string; preloads: readonly string[] }): string {
  const preloads = files.preloads.map((name) => `<link rel="modulepreload" href="/assets/${name}">`).join("");
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="description" content="Pay for AI models by the dollar, and check every cent.">
<title>Inference</title>
<link rel="icon" href="/assets/${files.icon}" type="image/svg+xml">
<link rel="stylesheet" href="/assets/${files.style}">
${preloads}<script type="module" src="/assets/${files.entry}"></script>
</head>
<body>
<div id="root"></div>
<noscript>This page needs JavaScript. Programs need no page: see <a href="/docs">the documentation</a>.</noscript>
</body>
</html>
`;
}
