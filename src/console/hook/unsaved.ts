// What a person has filled in and not sent yet, or was shown this once: it must not be lost by the way.

import { useLayoutEffect } from 'preact/hooks';

type Keeper = { readonly here: string; readonly onBack: () => void };

/** What keeps the page at present, the latest last. */
const keepers: Keeper[] = [];

/** Returns whether anything on the page would be lost with it. */
export function hasUnsaved(): boolean {
  return keepers.length > 0;
}

/**
 * Lets the page be kept when somebody goes back. It is called before the router listens too: the browser
 * calls the listeners in their order, and the router would show the other page.
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
 * Keeps the page while `isNeeded`: the browser asks before it is left by a reload or a closed tab, and going
 * back calls `onBack` instead of leaving.
 */
export function useUnsaved(isNeeded: boolean, onBack: () => void): void {
  // Before the next event: whoever goes back at once has filled in something all the same.
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
