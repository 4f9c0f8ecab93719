// Secret that is displayed once.

import { CopyButton } from './copy-button.tsx';

/** Secret that one click selects as a whole, with a copy button. */
export function Secret({ label, text, what }: { label: string; text: string; what: string }) {
  return (
    <div class="secret">
      <span class="secret-label">{label}</span>
      <code class="secret-text">{text}</code>
      <CopyButton text={text} what={what} />
    </div>
  );
}
