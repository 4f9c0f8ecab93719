// Short name for a browser, from its `User-Agent`, by which a person recognises a session. It proves nothing,
// because the client writes the header.

type Names = readonly (readonly [mark: RegExp, name: string])[];

/** The first match counts: a browser's header also names the browsers that it descends from. */
const BROWSERS: Names = [
  [/\bEdg(?:e|A|iOS)?\//, 'Edge'],
  [/\bOPR\//, 'Opera'],
  [/\bSamsungBrowser\//, 'Samsung Internet'],
  [/\b(?:Firefox|FxiOS)\//, 'Firefox'],
  [/\b(?:Chrome|CriOS|HeadlessChrome)\//, 'Chrome'],
  [/\bSafari\//, 'Safari'],
  [/^curl\//, 'curl'],
];

const SYSTEMS: Names = [
  [/\biPhone\b/, 'iPhone'],
  [/\biPad\b/, 'iPad'],
  [/\bAndroid\b/, 'Android'],
  [/\bWindows\b/, 'Windows'],
  [/\bMac OS X\b/, 'macOS'],
  [/\bCrOS\b/, 'ChromeOS'],
  [/\bLinux\b/, 'Linux'],
];

/** Returns e.g. `Firefox on Linux`; `Unknown browser` for a client that names none. */
export function browserName(agent: string | undefined): string {
  const browser = nameIn(BROWSERS, agent) ?? 'Unknown browser';
  const system = nameIn(SYSTEMS, agent);
  return system === undefined ? browser : `${browser} on ${system}`;
}

function nameIn(names: Names, agent = ''): string | undefined {
  return names.find(([mark]) => mark.test(agent))?.[1];
}
