// Forms that a script submits: one with button, progress and error, and one for filters above a list.

import { type ComponentChildren, createContext } from 'preact';
import { useContext, useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { fieldText } from '../format/audit-log.ts';
import { consolePath } from '../format/console-path.ts';
import { type Action, useAction } from '../hook/use-action.ts';
import { announce } from './announcer.tsx';
import { FieldErrorContext, type FieldOfForm } from './field.tsx';
import { type FieldError, readFieldError } from './field-error.ts';
import { Notice } from './notice.tsx';

/**
 * Form that Enter or its button submits. Shows the `ApiError` of `onSend` at the field that it names, else
 * below the fields, until the input changes; `obstacle` says why it cannot be sent yet. In a dialog, *Cancel*
 * asks before input is lost, as Escape does. A call that waits for an approval ends the form: sending it
 * again would request another one. `isGoingOn`: success is not announced, as more steps follow.
 */
export function Form(props: {
  label?: string;
  send: string;
  onSend: () => Promise<unknown>;
  tone?: 'primary' | 'danger' | 'plain';
  /** Whether Enter does not submit, for long forms whose result cannot be undone. */
  isDeliberate?: boolean;
  isGoingOn?: boolean;
  obstacle?: string | undefined;
  action?: Action;
  onBack?: (() => void) | undefined;
  onCancel?: () => void;
  /** Label of the button that cancels, where *Cancel* could be read as the action. */
  cancel?: string;
  children?: ComponentChildren;
}) {
  const {
    cancel = 'Cancel',
    send,
    onSend,
    tone = 'primary',
    isDeliberate = false,
    isGoingOn = false,
    obstacle,
    onBack,
    onCancel,
    children,
  } = props;
  const own = useAction();
  const action = props.action ?? own;
  const dialog = useContext(DialogContext);
  const refused = useMemo(() => readFieldError(action.error), [action.error]);
  const [claimed, claim] = useState<FieldError>();
  const isAtField = refused !== undefined && claimed === refused;
  const fields = useMemo(() => ({ error: refused, claim }), [refused]);
  const { waiting } = action;
  useEffect(() => {
    if (waiting !== undefined) dialog?.settle();
  }, [waiting]);
  const submit = async () => {
    const isDone = await action.run(onSend);
    if (isDone && !isGoingOn) announce(`${send}: done.`);
  };
  if (waiting !== undefined) return <Waiting id={waiting} onClose={onCancel} />;
  return (
    <form
      onInput={action.clear}
      class="form stack loose"
      aria-label={props.label}
      onKeyDown={(event) => {
        const isField = event.target instanceof HTMLInputElement;
        if (isDeliberate && isField && event.key === 'Enter') event.preventDefault();
      }}
      onSubmit={(event) => {
        event.preventDefault();
        if (obstacle === undefined) void submit();
      }}
    >
      <FieldErrorContext.Provider value={fields}>{children}</FieldErrorContext.Provider>
      {action.error !== undefined && !isAtField && (
        <Notice tone="bad">
          {refused === undefined
            ? action.error
            : `${fieldText(refused.path.replaceAll('.', ' › '))}: ${refused.reason}`}
        </Notice>
      )}
      <div class="form-actions row">
        <button
          type="submit"
          class={`button ${tone}`}
          disabled={obstacle !== undefined}
          aria-disabled={action.isBusy}
          title={obstacle}
        >
          {action.isBusy ? <span class="spinner" aria-hidden="true" /> : null}
          {send}
        </button>
        {onBack !== undefined && (
          <button type="button" class="button plain" onClick={onBack}>
            Back
          </button>
        )}
        {onCancel !== undefined && (
          <button type="button" class="button plain" onClick={dialog?.dismiss ?? onCancel}>
            {cancel}
          </button>
        )}
      </div>
    </form>
  );
}

/** Says that nothing is done yet, with a link to the page on which a second person decides. */
function Waiting({ id, onClose }: { id: string; onClose: (() => void) | undefined }) {
  // Takes the focus, because the button that had it is gone.
  const link = useRef<HTMLAnchorElement>(null);
  useEffect(() => link.current?.focus(), []);
  return (
    <>
      <Notice tone="warn">
        Nothing is done yet: it waits for a second person.{' '}
        <a class="link" href={consolePath.approval(id)} ref={link}>
          See the request
        </a>
      </Notice>
      {onClose !== undefined && (
        <div class="form-actions row">
          <button type="button" class="button primary" onClick={onClose}>
            Done
          </button>
        </div>
      )}
    </>
  );
}

/** Context that gives a form the dialog around it. */
export const DialogContext = createContext<
  | {
      /** Closes the dialog; asks first if input would be lost. */
      readonly dismiss: () => void;
      /** Marks the dialog's input as sent, so that closing asks nothing. */
      readonly settle: () => void;
    }
  | undefined
>(undefined);

/** Form of filters, applied with Enter or its button. */
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

/** Provides the texts of a form's fields, and the properties of each field by its name. */
export function useFields<Name extends string>(first: Readonly<Record<Name, string>>) {
  const [values, setValues] = useState(first);
  const field = (name: Name): FieldOfForm => ({
    name,
    value: values[name] ?? '',
    onInput: (value: string) => setValues((before) => ({ ...before, [name]: value })),
  });
  return { values, setValues, field };
}

/** Provides the texts of filters, which follow the applied query. */
export function useDraft(query: Record<string, string>) {
  const { values: draft, setValues, field } = useFields(query);
  useEffect(() => setValues(query), [query]);
  return { draft, field };
}
