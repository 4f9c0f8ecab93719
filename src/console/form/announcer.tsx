// Live region of the console, in which screen readers hear what an act has done.

import { useEffect, useState } from 'preact/hooks';

let say: ((text: string) => void) | undefined;

/** Lets screen readers say a text; the same text again is said again. */
export function announce(text: string): void {
  say?.(text);
}

export function Announcer() {
  const [said, setSaid] = useState({ text: '', turn: 0 });
  useEffect(() => {
    say = (text) => setSaid(({ turn }) => ({ text, turn: turn + 1 }));
    return () => {
      say = undefined;
    };
  }, []);
  return (
    <div role="status" aria-live="polite" class="unseen" id="said">
      <span key={said.turn}>{said.text}</span>
    </div>
  );
}
