// Form of a dialog in steps; the last one reviews the others and their effect.

import type { ComponentChildren } from 'preact';
import { useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import { ApiError } from '../api/call.ts';
import { useAction } from '../hook/use-action.ts';
import { announce } from './announcer.tsx';
import { type FieldError, isAt, readFieldError } from './field-error.ts';
import { Form } from './form.tsx';

type Step = {
  /** Name in the list of steps, and in the review. */
  readonly name: string;
  readonly title: string;
  /** Fields of the request in this step; the refusal of one opens the step. */
  readonly fields: readonly string[];
  /** Field that prevents leaving the step, and why. The browser itself checks for empty fields. */
  readonly obstacle?: FieldError | undefined;
  /** Chosen values, for the review. */
  readonly summary: ComponentChildren;
  readonly content: ComponentChildren;
};

const REVIEW = 'Review';

type Props = {
  steps: readonly Step[];
  /** Whether there is a review of the present input; if not, the last step is not shown. */
  isReviewed: boolean;
  /** Requests the review. */
  onReview: () => Promise<unknown>;
  send: string;
  tone?: 'primary' | 'danger';
  obstacle: string | undefined;
  onSend: () => Promise<unknown>;
  onCancel: () => void;
  /** Content of the review, such as findings and effect. */
  children?: ComponentChildren;
};

/**
 * Form in steps. *Next* and Enter open the next step, *Back* and the list of steps an earlier one. Opening a
 * step focuses its heading, or its refused field, and announces the step. Only *Next* leads to the review, so
 * that it always shows what will be sent.
 */
export function Steps(props: Props) {
  const { steps, isReviewed, onReview, send, tone = 'primary', onSend, onCancel } = props;
  const action = useAction();
  const refused = useMemo(() => readFieldError(action.error), [action.error]);
  const [place, setPlace] = useState(0);
  const at = isReviewed ? place : Math.min(place, steps.length - 1);
  const step = steps[at];
  const names = [...steps.map(({ name }) => name), REVIEW];
  // Before the page is painted, which would show the refusal below the fields for a moment.
  useLayoutEffect(() => {
    const owner = steps.findIndex(({ fields }) => isOneOf(fields, refused));
    if (owner !== -1) setPlace(owner);
  }, [refused]);
  const { body, heading } = useStepFocus(at, isOneOf(step?.fields ?? [], refused), () =>
    announce(`Step ${at + 1} of ${names.length}: ${names[at]}`),
  );
  const goTo = (target: number) => {
    action.clear();
    setPlace(target);
  };
  const next = async () => {
    const { obstacle } = step ?? {};
    if (obstacle !== undefined) throw new ApiError(400, `${obstacle.path}: ${obstacle.reason}`);
    if (at === steps.length - 1) await onReview();
    setPlace(at + 1);
  };
  const going = { send: 'Next', onSend: next, isGoingOn: true };
  const sending = { send, tone, onSend, obstacle: props.obstacle, isDeliberate: true };
  return (
    <div class="in-steps stack">
      {action.waiting === undefined && <StepList names={names} at={at} onGo={goTo} />}
      <Form
        {...(step === undefined ? sending : going)}
        action={action}
        onBack={at === 0 ? undefined : () => goTo(at - 1)}
        onCancel={onCancel}
      >
        <div class="step-body stack loose" key={at} ref={body}>
          <h3 tabIndex={-1} ref={heading}>
            {step?.title ?? REVIEW}
          </h3>
          {step?.content ?? (
            <div class="review">
              <Summary steps={steps} onGo={goTo} />
              <div class="stack">{props.children}</div>
            </div>
          )}
        </div>
      </Form>
    </div>
  );
}

function isOneOf(fields: readonly string[], refused: FieldError | undefined): boolean {
  return refused !== undefined && fields.some((name) => isAt(name, refused));
}

/** Scrolls an opened step to its heading and focuses it, unless a refusal has focused one of its fields. */
function useStepFocus(at: number, isLed: boolean, onOpen: () => void) {
  const body = useRef<HTMLDivElement>(null);
  const heading = useRef<HTMLHeadingElement>(null);
  const last = useRef(at);
  // Before the browser paints: a later focus takes the cursor from a field in which somebody types.
  useLayoutEffect(() => {
    if (last.current === at) return;
    last.current = at;
    const isAtField = isLed && body.current?.contains(document.activeElement) === true;
    if (!isAtField) {
      body.current?.closest('dialog')?.scrollTo(0, 0);
      heading.current?.focus({ preventScroll: true });
    }
    onOpen();
  }, [at]);
  return { body, heading };
}

function StepList(props: { names: readonly string[]; at: number; onGo: (place: number) => void }) {
  const { names, at, onGo } = props;
  return (
    <ol class="step-list row hint" aria-label="Steps">
      {names.map((name, index) => (
        <li
          key={name}
          class={index < at ? 'done line' : 'line'}
          aria-current={index === at ? 'step' : undefined}
        >
          {index < at ? (
            <button type="button" onClick={() => onGo(index)}>
              {name}
            </button>
          ) : (
            name
          )}
        </li>
      ))}
    </ol>
  );
}

/** Chosen values of each step, with a button that goes back to it. */
function Summary({ steps, onGo }: { steps: readonly Step[]; onGo: (place: number) => void }) {
  return (
    <dl class="summary">
      {steps.map(({ name, summary }, index) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{summary}</dd>
          <dd>
            <button type="button" class="link" onClick={() => onGo(index)}>
              Change<span class="unseen"> {name}</span>
            </button>
          </dd>
        </div>
      ))}
    </dl>
  );
}
