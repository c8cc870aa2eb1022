/**
 * Preloaded into every child: it ends at once when the devnet does, even if that was killed. Their files are
 * safe from such an end, and a child that lived on would hold its port and its file.
 */
process.once("disconnect", () => process.exit(1));
process.channel?.unref();
