// Protection of unsaved input, and of secrets that are shown once, when the reader leaves the page.

import { useLayoutEffect } from 'preact/hooks';

type Keeper = { readonly here: string; readonly onBack: () => void };

/** Present protections of the page; the latest is last. */
const keepers: Keeper[] = [];

/** Returns whether leaving the page would lose something. */
export function hasUnsaved(): boolean {
  return keepers.length > 0;
}

/**
 * Installs the protection against going back. Must be called before the router installs its listener, because
 * browsers call listeners in order, and the router would show the other page.
 */
export function guardHistory(): void {
  window.addEventListener('popstate', (event) => {
    const keeper = keepers.at(-1);
    if (keeper === undefined) return;
    event.stopImmediatePropagation();
    history.pushState(null, '', keeper.here);
    keeper.onBack();
  });
}

/**
 * Protects the page while `isNeeded`: the browser asks before a reload or a closed tab, and going back calls
 * `onBack` instead.
 */
export function useUnsaved(isNeeded: boolean, onBack: () => void): void {
  // A layout effect, so that it is active before the next event.
  useLayoutEffect(() => {
    if (!isNeeded) return undefined;
    const keeper = { here: location.href, onBack };
    const warn = (event: BeforeUnloadEvent) => event.preventDefault();
    keepers.push(keeper);
    window.addEventListener('beforeunload', warn);
    return () => {
      keepers.splice(keepers.indexOf(keeper), 1);
      window.removeEventListener('beforeunload', warn);
    };
  }, [isNeeded, onBack]);
}
