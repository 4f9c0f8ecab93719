// The frame of a form's control: its label before it, a hint below it.

import type { ComponentChildren } from 'preact';
import { useId } from 'preact/hooks';

/**
 * `children` make the control, given its id and the ids of what describes it: the hint, and why its value was
 * refused.
 */
export function LabelledControl(props: {
  label: string;
  hint?: ComponentChildren;
  error?: string | undefined;
  isLabelHidden?: boolean;
  children: (id: string, describedBy: string | undefined) => ComponentChildren;
}) {
  const { label, hint, error, isLabelHidden = false, children } = props;
  const id = useId();
  const hintId = hint === undefined ? undefined : `${id}-hint`;
  const errorId = error === undefined ? undefined : `${id}-error`;
  const describedBy = [errorId, hintId].filter((part) => part !== undefined).join(' ');
  return (
    <div class="field">
      <label for={id} class={isLabelHidden ? 'unseen' : undefined}>
        {label}
      </label>
      {children(id, describedBy === '' ? undefined : describedBy)}
      {errorId !== undefined && (
        <p class="bad-text" id={errorId} role="alert">
          {error}
        </p>
      )}
      {hintId !== undefined && (
        <p class="hint" id={hintId}>
          {hint}
        </p>
      )}
    </div>
  );
}
