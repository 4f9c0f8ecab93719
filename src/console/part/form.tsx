// Form that the page submits itself, with its button, progress and error.

import type { ComponentChildren } from 'preact';
import { type Action, useAction } from '../hook/use-action.ts';
import { Notice } from './notice.tsx';

/**
 * Form that is submitted with Enter or its button. `onSend` rejects with an `ApiError`, which is shown below
 * the fields; `obstacle` says why nothing can be sent yet.
 */
export function Form(props: {
  label?: string;
  send: string;
  onSend: () => Promise<unknown>;
  tone?: 'primary' | 'danger' | 'plain';
  /** Whether only the button submits, for long forms whose result cannot be undone. */
  isDeliberate?: boolean;
  obstacle?: string | undefined;
  action?: Action;
  onCancel?: () => void;
  children?: ComponentChildren;
}) {
  const {
    send,
    onSend,
    tone = 'primary',
    isDeliberate = false,
    obstacle,
    onCancel,
    children,
  } = props;
  const own = useAction();
  const action = props.action ?? own;
  return (
    <form
      class="form"
      aria-label={props.label}
      onKeyDown={(event) => {
        const isField = event.target instanceof HTMLInputElement;
        if (isDeliberate && isField && event.key === 'Enter') event.preventDefault();
      }}
      onSubmit={(event) => {
        event.preventDefault();
        if (obstacle === undefined) void action.run(onSend);
      }}
    >
      {children}
      {action.error !== undefined && <Notice tone="bad">{action.error}</Notice>}
      <div class="form-actions">
        <button
          type="submit"
          class={`button ${tone}`}
          disabled={action.isBusy || obstacle !== undefined}
          title={obstacle}
        >
          {action.isBusy ? <span class="spinner" aria-hidden="true" /> : null}
          {send}
        </button>
        {onCancel !== undefined && (
          <button type="button" class="button plain" onClick={onCancel}>
            Cancel
          </button>
        )}
      </div>
    </form>
  );
}
