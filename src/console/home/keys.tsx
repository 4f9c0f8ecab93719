// Keyboard shortcuts of the console: their list, and the hook for those that work on every page.

import { useEffect } from 'preact/hooks';

export const KEYS = (
  <dl class="keys">
    <dt>
      <kbd>/</kbd>
    </dt>
    <dd>Search apps, versions and devices</dd>
    <dt>
      <kbd>?</kbd>
    </dt>
    <dd>Show these keys</dd>
    <dt>
      <kbd>Esc</kbd>
    </dt>
    <dd>Close a dialog; it asks before input is lost</dd>
    <dt>
      <kbd>Enter</kbd>
    </dt>
    <dd>Send the form, or open the first that was found</dd>
    <dt>
      <kbd>Tab</kbd>
    </dt>
    <dd>Go on; the first press on a page offers to skip to its content</dd>
  </dl>
);

/**
 * Calls `onPress` when the key is pressed without Ctrl, Meta or Alt; does nothing while the reader is typing
 * or a dialog is open.
 */
export function useKey(key: string, onPress: () => void): void {
  useEffect(() => {
    const press = (event: KeyboardEvent) => {
      if (event.key !== key || event.ctrlKey || event.metaKey || event.altKey) return;
      if (isTyping(event.target) || document.querySelector('dialog[open]') !== null) return;
      event.preventDefault();
      onPress();
    };
    document.addEventListener('keydown', press);
    return () => document.removeEventListener('keydown', press);
  }, [key, onPress]);
}

function isTyping(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && target.matches('input, textarea, select');
}
