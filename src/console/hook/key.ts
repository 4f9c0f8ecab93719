// Keyboard shortcuts on every page; they do nothing while the reader is typing or a dialog is open.

import { useEffect } from 'preact/hooks';

/** Calls `onPress` when the key is pressed without Ctrl, Meta or Alt. */
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
