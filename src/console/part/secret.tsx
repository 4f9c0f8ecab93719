// A text that is shown once.

import { CopyButton } from './copy-button.tsx';

/** The text, wholly selected by one click, and a button that copies it. */
export function Secret({ label, text, what }: { label: string; text: string; what: string }) {
  return (
    <div class="secret">
      <span class="secret-label">{label}</span>
      <code class="secret-text">{text}</code>
      <CopyButton text={text} what={what} />
    </div>
  );
}
