/** The style sheet of /docs, light or dark like the reader's system. */
export const style = `
:root { color-scheme: light dark; --line: light-dark(#d9dde3, #343a43); --soft: light-dark(#f5f6f8, #1b1f25);
  --text: light-dark(#1c2128, #dfe3e8); --faint: light-dark(#626c79, #98a2af); --link: light-dark(#0b5cad, #7fb6f0);
  --get: light-dark(#0b6e4f, #6fd3ac); --post: light-dark(#0b5cad, #7fb6f0); --patch: light-dark(#8a5a00, #e0b25c);
  --delete: light-dark(#a32020, #f08c8c); }
* { box-sizing: border-box; }
html { scroll-padding-top: 1rem; }
body { margin: 0; display: grid; grid-template-columns: 20rem minmax(0, 1fr); color: var(--text);
  background: light-dark(#fff, #14171c); font: 1rem/1.55 system-ui, sans-serif; }
a { color: var(--link); text-decoration: none; }
a:hover { text-decoration: underline; }
nav { position: sticky; top: 0; height: 100vh; overflow-y: auto; padding: 1.5rem 1.25rem; background: var(--soft);
  border-right: 1px solid var(--line); font-size: .875rem; }
nav > a { display: block; margin-top: .9rem; font-weight: 600; color: var(--text); }
nav .home { margin: 0; font-size: 1.0625rem; }
nav ul { margin: .25rem 0 0; padding: 0; list-style: none; }
nav li a { display: grid; grid-template-columns: 3.4rem minmax(0, 1fr); padding: .15rem 0; overflow-wrap: anywhere; }
nav li a.step { display: block; }
nav p { margin: 1.5rem 0 0; }
main { max-width: 56rem; padding: 2.5rem clamp(1.25rem, 4vw, 3rem) 6rem; }
h1 { margin: 0 0 .5rem; font-size: 2rem; line-height: 1.2; }
h2 { margin: 3.5rem 0 1rem; padding-bottom: .4rem; border-bottom: 1px solid var(--line); font-size: 1.4rem; }
h3 { margin: 0; font-size: 1.0625rem; font-weight: 600; overflow-wrap: anywhere; }
h3.step { margin-top: 2rem; }
h3.step + p { margin: .3rem 0 .75rem; }
h4 { margin: 1rem 0 0; font-size: .9375rem; }
h4 + p { margin: .1rem 0 .5rem; }
.lead { font-size: 1.125rem; color: var(--faint); }
article { margin: 0 0 1.5rem; padding: 1.25rem; border: 1px solid var(--line); border-radius: .5rem; }
article > p { margin: .6rem 0; }
.verb { display: inline-block; font: 600 .75rem/1.9 ui-monospace, monospace; }
.get { color: var(--get); } .post { color: var(--post); }
.patch { color: var(--patch); } .delete { color: var(--delete); }
.who, .media, td i { color: var(--faint); font-size: .875rem; }
code { font: .875em ui-monospace, monospace; }
p code, td code, li code { padding: .1em .3em; border-radius: .25rem; background: var(--soft); }
pre { margin: 0; padding: 1rem; overflow-x: auto; border-radius: .375rem; background: var(--soft); line-height: 1.5; }
.install { margin: .5rem 0; }
details { margin: .5rem 0; }
summary { cursor: pointer; font-weight: 600; font-size: .9375rem; padding: .2rem 0; }
details[open] > summary { margin-bottom: .35rem; }
table { width: 100%; border-collapse: collapse; font-size: .875rem; }
td, th { padding: .4rem .75rem .4rem 0; border-top: 1px solid var(--line); text-align: left; vertical-align: top;
  overflow-wrap: anywhere; }
article td:first-child { width: 34%; } article td:nth-child(2) { width: 30%; }
.codes td:nth-child(2) { width: 30%; } .codes td:first-child { width: 4rem; } .codes td:last-child { width: 3rem; }
.codes th { overflow-wrap: normal; }
tr:target { background: var(--soft); }
.errors { font: .8125rem/1.7 ui-monospace, monospace; } .errors a { margin-right: .4rem; white-space: nowrap; }
@media (max-width: 52rem) {
  body { display: block; }
  nav { position: static; height: auto; border-right: 0; border-bottom: 1px solid var(--line); }
  nav ul { display: none; } nav > a { display: inline-block; margin: .5rem 1rem 0 0; } nav .home { display: block; }
  main { padding-top: 1.5rem; }
  .codes thead { display: none; } .codes tr { display: block; padding: .5rem 0; border-top: 1px solid var(--line); }
  .codes td, .codes td:nth-child(n) { display: block; width: auto; padding: 0; border: 0; }
  .codes td:last-child::before { content: "Retry: "; }
}
`;
