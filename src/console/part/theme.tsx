// Light or dark theme: the system's, or the reader's choice, which this browser stores.

import { createContext } from 'preact';
import { useContext, useEffect, useState } from 'preact/hooks';
import { keepText, recallText } from '../hook/storage.ts';

type ThemeChoice = 'system' | 'light' | 'dark';
export type Theme = {
  readonly choice: ThemeChoice;
  /** Theme that is shown: `choice`, or the system's. */
  readonly shown: 'light' | 'dark';
  choose(choice: ThemeChoice): void;
};

const STORED = 'sluice-theme';

export function useTheme(): Theme {
  return useContext(ThemeContext);
}

export const ThemeContext = createContext<Theme>({
  choice: 'system',
  shown: 'light',
  choose: () => undefined,
});

/** Creates the theme's state, for the component that provides it. */
export function useThemeState(): Theme {
  const [choice, setChoice] = useState(storedChoice);
  const [isSystemDark, setSystemDark] = useState(() => darkQuery().matches);
  useEffect(() => {
    const query = darkQuery();
    const follow = () => setSystemDark(query.matches);
    query.addEventListener('change', follow);
    return () => query.removeEventListener('change', follow);
  }, []);
  useEffect(() => {
    if (choice === 'system') delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = choice;
  }, [choice]);
  const systemTheme = isSystemDark ? 'dark' : 'light';
  return {
    choice,
    shown: choice === 'system' ? systemTheme : choice,
    choose(next) {
      keepText(STORED, next);
      setChoice(next);
    },
  };
}

function darkQuery(): MediaQueryList {
  return matchMedia('(prefers-color-scheme: dark)');
}

function storedChoice(): ThemeChoice {
  const stored = recallText(STORED);
  return stored === 'light' || stored === 'dark' ? stored : 'system';
}

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
