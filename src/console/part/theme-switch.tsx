// Switch between the light, dark and system theme.

import { type ThemeChoice, useTheme } from '../hook/use-theme.ts';

const NEXT: Readonly<Record<ThemeChoice, ThemeChoice>> = {
  system: 'light',
  light: 'dark',
  dark: 'system',
};
const SIGN: Readonly<Record<ThemeChoice, string>> = { system: '◐', light: '☀', dark: '☾' };

/** Button that cycles through the themes. */
export function ThemeSwitch() {
  const { choice, choose } = useTheme();
  return (
    <button
      type="button"
      class="icon-button"
      aria-label={`Theme: ${choice}. Change to ${NEXT[choice]}`}
      title={`Theme: ${choice}`}
      onClick={() => choose(NEXT[choice])}
    >
      {SIGN[choice]}
    </button>
  );
}
