// Formats that Sparkle, on macOS, and WinSparkle, on Windows, install.

const FORMATS: Readonly<Record<string, (format: string) => boolean>> = {
  // `app.tar.gz` is for Tauri's updater.
  darwin: (format) => ['zip', 'dmg', 'pkg'].includes(format) || format.startsWith('tar.'),
  windows: (format) => ['nsis', 'exe', 'msi'].includes(format),
};

/** Returns whether the client of a folded platform installs files of a format. */
export function isSparkleFormat(platform: string, format: string | undefined): boolean {
  return format !== undefined && FORMATS[platform]?.(format) === true;
}
