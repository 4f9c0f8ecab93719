// Button that copies a text to the clipboard.

import { useEffect, useState } from 'preact/hooks';

const SHOWN_MS = 2000;

/** Button that copies; `what` names the text in its label: `Copy key`. */
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
      // The clipboard needs https and permission; without them the text can be selected by hand.
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
