// One labelled control of a form.

import type { ComponentChildren } from 'preact';
import { useEffect, useId, useRef } from 'preact/hooks';

type TextFieldProps = {
  label: string;
  value: string;
  onInput: (value: string) => void;
  type?: 'text' | 'email' | 'password' | 'number' | 'search' | 'url';
  hint?: ComponentChildren;
  isRequired?: boolean;
  /** The browser's own completion, such as `current-password`. */
  complete?: string;
  placeholder?: string;
  min?: number;
  max?: number;
  maxLength?: number;
  isFocused?: boolean;
  isCode?: boolean;
  options?: readonly string[];
};

/** A line of text; `options` are suggested, not demanded. */
export function Field(props: TextFieldProps) {
  const { label, value, onInput, type = 'text', hint, options } = props;
  const id = useId();
  const input = useRef<HTMLInputElement>(null);
  const begins = useRef(props.isFocused === true);
  useEffect(() => {
    if (begins.current) input.current?.focus();
  }, []);
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <input
        id={id}
        class={props.isCode ? 'code' : ''}
        type={type}
        value={value}
        dir={type === 'text' ? 'auto' : undefined}
        required={props.isRequired ?? false}
        autocomplete={props.complete ?? 'off'}
        placeholder={props.placeholder}
        min={props.min}
        max={props.max}
        maxLength={props.maxLength}
        step={type === 'number' ? 1 : undefined}
        list={options === undefined ? undefined : `${id}-options`}
        aria-describedby={hint === undefined ? undefined : `${id}-hint`}
        data-first={props.isFocused ? '' : undefined}
        ref={input}
        onInput={(event) => onInput(event.currentTarget.value)}
      />
      {options !== undefined && (
        <datalist id={`${id}-options`}>
          {options.map((option) => (
            <option key={option} value={option} />
          ))}
        </datalist>
      )}
      {hint !== undefined && (
        <p class="hint" id={`${id}-hint`}>
          {hint}
        </p>
      )}
    </div>
  );
}
