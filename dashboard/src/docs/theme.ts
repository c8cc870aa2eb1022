// Runs before the page is painted, as a classic script: it shares no file with the other scripts.
{
  const theme = localStorage.getItem("theme");
  if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
}
