// Labelled text input of a form.

import type { ComponentChildren } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { useFieldError } from './field-error.ts';
import { LabelledControl } from './labelled-control.tsx';

type TextFieldProps = {
  /** Path of the field in what is sent, so that its refusal is shown here. */
  name?: string | undefined;
  label: string;
  value: string;
  onInput: (value: string) => void;
  /** Called when the focus leaves the field. */
  onLeave?: () => void;
  type?: 'text' | 'email' | 'password' | 'number' | 'search' | 'url' | 'date' | 'datetime-local';
  hint?: ComponentChildren;
  isRequired?: boolean;
  /** Value of the autocomplete attribute, such as `current-password`. */
  complete?: string;
  placeholder?: string;
  min?: number;
  max?: number;
  maxLength?: number;
  isFocused?: boolean;
  isCode?: boolean;
  options?: readonly string[];
};

/** Text input; `options` are suggestions. */
export function Field(props: TextFieldProps) {
  const { label, value, onInput, type = 'text', hint, options } = props;
  const { reason, control: input } = useFieldError<HTMLInputElement>(props.name);
  const begins = useRef(props.isFocused === true);
  useEffect(() => {
    if (begins.current) input.current?.focus();
  }, []);
  return (
    <LabelledControl label={label} hint={hint} error={reason}>
      {(id, hintId) => (
        <>
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
            aria-describedby={hintId}
            aria-invalid={reason === undefined ? undefined : true}
            data-first={props.isFocused ? '' : undefined}
            ref={input}
            onInput={(event) => onInput(event.currentTarget.value)}
            onBlur={props.onLeave}
          />
          {options !== undefined && (
            <datalist id={`${id}-options`}>
              {options.map((option) => (
                <option key={option} value={option} />
              ))}
            </datalist>
          )}
        </>
      )}
    </LabelledControl>
  );
}
