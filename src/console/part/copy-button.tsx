// Puts a text where the reader can paste it from.

import { useEffect, useState } from 'preact/hooks';

const SHOWN_MS = 2000;

/** `what` names the text: `Copy key`. */
export function CopyButton({ text, what }: { text: string; what: string }) {
  const [outcome, setOutcome] = useState<'copied' | 'refused'>();
  useEffect(() => {
    if (outcome === undefined) return undefined;
    const timer = setTimeout(() => setOutcome(undefined), SHOWN_MS);
    return () => clearTimeout(timer);
  }, [outcome]);
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text);
      setOutcome('copied');
    } catch {
      // Without https, or without leave: the text stands beside the button and can be marked by hand.
      setOutcome('refused');
    }
  };
  const label = { copied: 'Copied', refused: 'Select it and copy' };
  return (
    <button type="button" class="button plain small" onClick={() => void copy()}>
      <span aria-live="polite">{outcome === undefined ? `Copy ${what}` : label[outcome]}</span>
    </button>
  );
}
