// Button that copies a text to the clipboard, and the display of a secret with such a button.

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
      // The clipboard needs https and permission; otherwise the reader can select the text.
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

/** Secret that one click selects as a whole, with a copy button. */
export function Secret({ label, text, what }: { label: string; text: string; what: string }) {
  return (
    <div class="secret">
      <span class="secret-label">{label}</span>
      <code class="secret-text panel">{text}</code>
      <CopyButton text={text} what={what} />
    </div>
  );
}
