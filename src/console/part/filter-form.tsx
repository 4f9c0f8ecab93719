// Row of filters above a list, applied with Enter or its button.

import type { ComponentChildren } from 'preact';

/** Form of filters; `onApply` takes over what was entered. */
export function FilterForm(props: {
  label: string;
  onApply: () => void;
  children: ComponentChildren;
}) {
  const { label, onApply, children } = props;
  return (
    <form
      class="filters"
      aria-label={label}
      onSubmit={(event) => {
        event.preventDefault();
        onApply();
      }}
    >
      {children}
      <button type="submit" class="button plain">
        Filter
      </button>
    </form>
  );
}
