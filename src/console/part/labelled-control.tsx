// The frame of a form's control: its label before it, a hint below it.

import type { ComponentChildren } from 'preact';
import { useId } from 'preact/hooks';

/** `children` make the control, given its id and the id of the hint that describes it. */
export function LabelledControl(props: {
  label: string;
  hint?: ComponentChildren;
  isLabelHidden?: boolean;
  children: (id: string, hintId: string | undefined) => ComponentChildren;
}) {
  const { label, hint, isLabelHidden = false, children } = props;
  const id = useId();
  const hintId = hint === undefined ? undefined : `${id}-hint`;
  return (
    <div class="field">
      <label for={id} class={isLabelHidden ? 'unseen' : undefined}>
        {label}
      </label>
      {children(id, hintId)}
      {hintId !== undefined && (
        <p class="hint" id={hintId}>
          {hint}
        </p>
      )}
    </div>
  );
}
