// Colors of versions in a chart, newest first: distinguishable with common color blindness, on light and
// dark.

export const VERSION_COLORS: readonly string[] = [
  '#4c6ef5',
  '#12a5a0',
  '#f08c00',
  '#d6336c',
  '#7c5cdb',
  '#2f9e44',
  '#1c8fd1',
  '#b08900',
  '#868e96',
];
