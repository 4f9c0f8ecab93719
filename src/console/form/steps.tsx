// Form of a dialog in steps, the last of which is a review of the others and of what they will do.

import type { ComponentChildren } from 'preact';
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import { ApiError } from '../api/call.ts';
import { useAction } from '../hook/use-action.ts';
import { announce } from './announcer.tsx';
import { type FieldError, isAt, readFieldError } from './field.tsx';
import { Form } from './form.tsx';

type Step = {
  /** Name in the list of steps, and in the review. */
  readonly name: string;
  readonly title: string;
  /** Fields of the request that it has; the refusal of one leads to it. */
  readonly fields: readonly string[];
  /** Field that keeps it from being left, and why; the browser itself looks for fields that are empty. */
  readonly obstacle?: FieldError | undefined;
  /** What was chosen, for the review. */
  readonly summary: ComponentChildren;
  readonly content: ComponentChildren;
};

const REVIEW = 'Review';

type Props = {
  steps: readonly Step[];
  /** Whether there is a review of the present input; without one the review is not shown. */
  isReviewed: boolean;
  /** Asks for the review. */
  onReview: () => Promise<unknown>;
  send: string;
  tone?: 'primary' | 'danger';
  obstacle: string | undefined;
  onSend: () => Promise<unknown>;
  onCancel: () => void;
  /** Findings, effect, and what else belongs to the review. */
  children?: ComponentChildren;
};

/**
 * Form in steps. *Next* and Enter go on, *Back* and the list of steps go back. The step that opens gets the
 * focus on its heading, or on its field that was refused, and is announced. Only *Next* leads to the review,
 * so that it is always one of what will be sent.
 */
export function Steps(props: Props) {
  const { steps, isReviewed, onReview, send, tone = 'primary', onSend, onCancel } = props;
  const action = useAction();
  const refused = useMemo(() => readFieldError(action.error), [action.error]);
  const [place, setPlace] = useState(0);
  const at = isReviewed ? place : Math.min(place, steps.length - 1);
  const step = steps[at];
  const names = [...steps.map(({ name }) => name), REVIEW];
  // Before the page is painted, which would show it below the fields for a moment.
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

/** Shows a step that opens from its heading on, unless a refusal led to it and has focused a field of it. */
function useStepFocus(at: number, isLed: boolean, onOpen: () => void) {
  const body = useRef<HTMLDivElement>(null);
  const heading = useRef<HTMLHeadingElement>(null);
  const last = useRef(at);
  useEffect(() => {
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

/** What was chosen in each step, with a way back to it. */
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
