// Live region of the console, through which screen readers announce the result of an action.

import { useEffect, useState } from 'preact/hooks';

let say: ((text: string) => void) | undefined;

/** Makes screen readers announce a text, also if it is the same as the last one. */
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
