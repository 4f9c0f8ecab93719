// Dialog with a text that is shown once.

import type { ComponentChildren } from 'preact';
import { Dialog } from './dialog.tsx';
import { Notice } from './notice.tsx';
import { Secret } from './secret.tsx';

/** `children` say what to do with the text; `what` names it on the button that copies it. */
export function SecretDialog(props: {
  title: string;
  label: string;
  text: string;
  what: string;
  onClose: () => void;
  children: ComponentChildren;
}) {
  const { title, label, text, what, onClose, children } = props;
  return (
    <Dialog title={title} keeps={`the ${what}`} onClose={onClose}>
      <Notice tone="warn">{children}</Notice>
      <Secret label={label} text={text} what={what} />
      <div class="form-actions">
        <button type="button" class="button primary" onClick={onClose}>
          Done
        </button>
      </div>
    </Dialog>
  );
}
