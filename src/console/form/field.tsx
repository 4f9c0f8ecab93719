// Controls of a form, each with its label, hint and refusal: text, a select, checkboxes, and the reason for a
// change.

import { type ComponentChildren, createContext } from 'preact';
import { useContext, useId, useLayoutEffect, useRef } from 'preact/hooks';
import { LIMIT } from '../../contract/limit.ts';
import { type FieldError, isAt } from './field-error.ts';

type TextFieldProps = {
  /** Path of the field in the request, where its refusal is shown. */
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
  /** Step of a number; 1 when left out. */
  step?: number;
  maxLength?: number;
  isLabelHidden?: boolean;
  isFocused?: boolean;
  isCode?: boolean;
  options?: readonly string[];
};

/** Properties that a form gives to its field. */
export type FieldOfForm = Pick<TextFieldProps, 'name' | 'value' | 'onInput' | 'isFocused'>;

/** Text input; `options` are suggestions. */
export function Field(props: TextFieldProps) {
  const { label, value, onInput, type = 'text', hint, options, isLabelHidden = false } = props;
  const { reason, control: input } = useFieldError<HTMLInputElement>(props.name);
  const begins = useRef(props.isFocused === true);
  // Before the browser paints: a later focus takes the cursor from a field in which somebody types.
  useLayoutEffect(() => {
    if (begins.current) input.current?.focus();
  }, []);
  return (
    <LabelledControl label={label} hint={hint} error={reason} isLabelHidden={isLabelHidden}>
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
            step={type === 'number' ? (props.step ?? 1) : undefined}
            list={options === undefined ? undefined : `${id}-options`}
            aria-describedby={hintId}
            aria-invalid={reason === undefined ? undefined : true}
            data-first={props.isFocused ? '' : undefined}
            ref={input}
            onInput={(event) => onInput(event.currentTarget.value)}
            onBlur={props.onLeave}
          />
          {options !== undefined && <Suggestions id={`${id}-options`} options={options} />}
        </>
      )}
    </LabelledControl>
  );
}

/** Suggestions for the input whose `list` attribute is this id. */
export function Suggestions({ id, options }: { id: string; options: readonly string[] }) {
  return (
    <datalist id={id}>
      {options.map((option) => (
        <option key={option} value={option} />
      ))}
    </datalist>
  );
}

const ROWS = 6;

/** Text area that grows with its text in browsers that support it. */
export function TextArea(props: {
  /** Path of the field in the request, where its refusal is shown. */
  name?: string | undefined;
  label: string;
  hint?: string;
  placeholder?: string;
  value: string;
  onInput: (value: string) => void;
}) {
  const { reason, control } = useFieldError<HTMLTextAreaElement>(props.name);
  return (
    <LabelledControl label={props.label} hint={props.hint} error={reason}>
      {(id, describedBy) => (
        <textarea
          id={id}
          ref={control}
          aria-describedby={describedBy}
          aria-invalid={reason === undefined ? undefined : true}
          placeholder={props.placeholder}
          rows={ROWS}
          dir="auto"
          value={props.value}
          onInput={(event) => props.onInput(event.currentTarget.value)}
        />
      )}
    </LabelledControl>
  );
}

type Option<Value extends string> = { readonly value: Value; readonly label: string };

/** Returns the values that a record names as options, in its order. */
export function optionsOf<Value extends string>(
  labels: Readonly<Record<Value, string>>,
): readonly Option<Value>[] {
  const values = Object.keys(labels) as Value[];
  return values.map((value) => ({ value, label: labels[value] }));
}

export function Choice<Value extends string>(props: {
  label: string;
  value: Value;
  /** Options; a plain value is also its own label. */
  options: readonly (Option<Value> | Value)[];
  onChoose: (value: Value) => void;
  hint?: ComponentChildren;
  isLabelHidden?: boolean;
}) {
  const { label, value, onChoose, hint, isLabelHidden = false } = props;
  const options = props.options.map((option) =>
    typeof option === 'string' ? { value: option, label: option } : option,
  );
  return (
    <LabelledControl label={label} hint={hint} isLabelHidden={isLabelHidden}>
      {(id, hintId) => (
        <select
          id={id}
          value={value}
          aria-describedby={hintId}
          onChange={(event) => {
            const chosen = event.currentTarget.value as Value;
            // Shows the actual value until the chosen one is accepted.
            event.currentTarget.value = value;
            onChoose(chosen);
          }}
        >
          {options.map((option) => (
            <option key={option.value} value={option.value}>
              {option.label}
            </option>
          ))}
        </select>
      )}
    </LabelledControl>
  );
}

/** Checkboxes under one label; `values` are the checked ones, in the order of `options`. */
export function CheckGroup<Value extends string>(props: {
  label: string;
  values: readonly Value[];
  options: readonly Option<Value>[];
  onChange: (values: readonly Value[]) => void;
  hint?: ComponentChildren;
}) {
  const { label, values, options, onChange, hint } = props;
  const hintId = useId();
  const toggle = (toggled: Value) =>
    onChange(
      options
        .map(({ value }) => value)
        .filter((value) => (value === toggled) !== values.includes(value)),
    );
  return (
    <fieldset aria-describedby={hint === undefined ? undefined : hintId}>
      <legend>{label}</legend>
      {options.map((option) => (
        <label key={option.value} class="line">
          <input
            type="checkbox"
            checked={values.includes(option.value)}
            onChange={() => toggle(option.value)}
          />{' '}
          {option.label}
        </label>
      ))}
      {hint !== undefined && (
        <p class="hint" id={hintId}>
          {hint}
        </p>
      )}
    </fieldset>
  );
}

/** Field for a number from 0 to 100. */
export function PercentField(
  props: Omit<TextFieldProps, 'type' | 'min' | 'max'> & { min?: number },
) {
  return <Field type="number" min={0} max={100} {...props} />;
}

/** Field for an optional reason. */
export function ReasonField(props: FieldOfForm) {
  return (
    <Field
      name="reason"
      label="Reason"
      {...props}
      maxLength={LIMIT.reasonLengthMax}
      hint="Optional. Shown in the history."
    />
  );
}

/** Label of a control; `children` get the control's id, and the ids of its hint and refusal. */
function LabelledControl(props: {
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
    <div class="field stack tight">
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

type Fields = {
  readonly error: FieldError | undefined;
  /** Called by the field that shows the refusal. */
  readonly claim: (error: FieldError) => void;
};

/** Provides the refusal to the fields of a form. */
export const FieldErrorContext = createContext<Fields | undefined>(undefined);

/** Returns why the service refused this field, and a reference for its control, which a refusal focuses. */
export function useFieldError<Control extends HTMLElement>(name: string | undefined) {
  const fields = useContext(FieldErrorContext);
  const control = useRef<Control>(null);
  const error = fields?.error !== undefined && isAt(name, fields.error) ? fields.error : undefined;
  // Before the page is painted, so that the form does not show the refusal as well.
  useLayoutEffect(() => {
    if (error === undefined) return;
    fields?.claim(error);
    control.current?.focus();
  }, [error]);
  return { reason: error?.reason, control };
}
