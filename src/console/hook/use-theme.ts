// Light or dark: as the system says, unless the reader chose. The choice stays with this browser.

import { createContext } from 'preact';
import { useContext, useEffect, useState } from 'preact/hooks';

export type ThemeChoice = 'system' | 'light' | 'dark';
export type Theme = {
  readonly choice: ThemeChoice;
  /** What is shown. */
  readonly shown: 'light' | 'dark';
  choose(choice: ThemeChoice): void;
};

const STORED = 'sluice-theme';

/** The theme of the page. */
export function useTheme(): Theme {
  return useContext(ThemeContext);
}

/** Gives the theme to everything below. */
export const ThemeContext = createContext<Theme>({
  choice: 'system',
  shown: 'light',
  choose: () => undefined,
});

/** The theme's state, for the one component that gives it to all others. */
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
      localStorage.setItem(STORED, next);
      setChoice(next);
    },
  };
}

function darkQuery(): MediaQueryList {
  return matchMedia('(prefers-color-scheme: dark)');
}

function storedChoice(): ThemeChoice {
  const stored = localStorage.getItem(STORED);
  return stored === 'light' || stored === 'dark' ? stored : 'system';
}
