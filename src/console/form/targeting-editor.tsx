// Editor of a release's targeting, which suggests labels of the fleet and locks parts that can no longer
// change.

import { useId } from 'preact/hooks';
import type { LabelCounts } from '../../contract/console.ts';
import type { TargetExpression, Targeting, TargetOperator } from '../../contract/resource.ts';
import { countText } from '../format/figure-text.ts';
import {
  expressionPath,
  FIELD_KEYS,
  type LabelRow,
  labelPath,
  operatorsFor,
  type TargetingDraft,
  takesValues,
} from '../format/targeting.ts';
import { ChipsInput } from './chips-input.tsx';
import { Suggestions, useFieldError } from './field.tsx';
import { Notice } from './notice.tsx';
import { CrossButton, SmallButton } from './small-button.tsx';

/**
 * Targeting editor. `offered` is the targeting of an offered release: a label may then only gain values or be
 * removed, and conditions are fixed.
 */
export function TargetingEditor(props: {
  draft: TargetingDraft;
  onChange: (draft: TargetingDraft) => void;
  labels: LabelCounts | undefined;
  offered?: { readonly targets: Targeting | null };
}) {
  const { draft, onChange, labels, offered } = props;
  return (
    <div class="stack loose">
      {offered !== undefined && (
        <Notice tone="quiet">
          Devices were already offered this release. You can still add values to a label or remove a
          label altogether; anything that would reach fewer devices needs a new release.
        </Notice>
      )}
      <LabelRows draft={draft} onChange={onChange} labels={labels} offered={offered} />
      <ExpressionRows
        draft={draft}
        onChange={onChange}
        labels={labels}
        isFrozen={offered !== undefined}
      />
      {labels?.sampled === true && (
        <p class="hint">Suggestions come from a sample of the fleet; there may be more values.</p>
      )}
    </div>
  );
}

function LabelRows(props: {
  draft: TargetingDraft;
  onChange: (draft: TargetingDraft) => void;
  labels: LabelCounts | undefined;
  offered: { readonly targets: Targeting | null } | undefined;
}) {
  const { draft, onChange, labels, offered } = props;
  const { labels: rows } = draft;
  const locked = offered?.targets?.matchLabels ?? {};
  return (
    <fieldset>
      <legend>Labels</legend>
      {rows.length === 0 && <p class="hint">No label is asked for.</p>}
      {rows.map((row, index) => (
        <LabelTargetRow
          key={index}
          row={row}
          labels={labels}
          locked={Object.hasOwn(locked, row.key) ? (locked[row.key] ?? []) : undefined}
          onChange={(changed) => onChange({ ...draft, labels: rows.with(index, changed) })}
          onRemove={() => onChange({ ...draft, labels: rows.toSpliced(index, 1) })}
        />
      ))}
      {offered === undefined && (
        <SmallButton
          onClick={() => onChange({ ...draft, labels: [...rows, { key: '', values: [] }] })}
        >
          Add a label
        </SmallButton>
      )}
    </fieldset>
  );
}

const NEW_EXPRESSION: TargetExpression = { key: '$version', operator: 'VersionGte', values: [] };

function ExpressionRows(props: {
  draft: TargetingDraft;
  onChange: (draft: TargetingDraft) => void;
  labels: LabelCounts | undefined;
  isFrozen: boolean;
}) {
  const { draft, onChange, labels, isFrozen } = props;
  const { expressions: rows } = draft;
  return (
    <fieldset disabled={isFrozen}>
      <legend>Conditions{isFrozen ? ' (fixed)' : ''}</legend>
      {rows.length === 0 && <p class="hint">No further condition.</p>}
      {rows.map((row, index) => (
        <ExpressionRow
          key={index}
          path={expressionPath(index)}
          row={row}
          labels={labels}
          isFrozen={isFrozen}
          onChange={(changed) => onChange({ ...draft, expressions: rows.with(index, changed) })}
          onRemove={() => onChange({ ...draft, expressions: rows.toSpliced(index, 1) })}
        />
      ))}
      {!isFrozen && (
        <SmallButton onClick={() => onChange({ ...draft, expressions: [...rows, NEW_EXPRESSION] })}>
          Add a condition
        </SmallButton>
      )}
    </fieldset>
  );
}

/** Row of a label; `locked` values must stay, undefined if everything may change. */
function LabelTargetRow(props: {
  row: LabelRow;
  labels: LabelCounts | undefined;
  locked: readonly string[] | undefined;
  onChange: (row: LabelRow) => void;
  onRemove: () => void;
}) {
  const { row, labels, locked, onChange, onRemove } = props;
  const id = useId();
  const { reason, control } = useFieldError<HTMLInputElement>(labelPath(row.key));
  const known = labels?.keys.find(({ key }) => key === row.key);
  const devices = known?.values
    .filter(({ value }) => row.values.includes(value))
    .reduce((sum, each) => sum + each.devices, 0);
  return (
    <div class="target-row row panel">
      <input
        aria-label="Label"
        placeholder="label"
        ref={control}
        {...keyProps(id, row.key, reason)}
        readOnly={locked !== undefined}
        onInput={(event) => onChange({ ...row, key: event.currentTarget.value })}
      />
      <Suggestions id={id} options={keysOf(labels)} />
      <span class="muted">is</span>
      <ChipsInput
        label={`Values of ${row.key === '' ? 'the label' : row.key}`}
        values={row.values}
        options={known?.values.map(({ value }) => value) ?? []}
        locked={locked ?? []}
        onChange={(values) => onChange({ ...row, values })}
      />
      {devices !== undefined && row.values.length > 0 && (
        <span class="hint">{countText(devices, 'device')}</span>
      )}
      <CrossButton label={`Remove the label ${row.key}`} onClick={onRemove} />
      <Fault id={id} reason={reason} />
    </div>
  );
}

const OPERATOR_WORDS: Readonly<Record<TargetOperator, string>> = {
  In: 'is one of',
  NotIn: 'is none of',
  Exists: 'is set',
  DoesNotExist: 'is not set',
  VersionGte: 'is at least',
  VersionLt: 'is older than',
};

/** Row of an expression; `isFrozen` makes it read-only. */
function ExpressionRow(props: {
  path: string;
  row: TargetExpression;
  labels: LabelCounts | undefined;
  isFrozen: boolean;
  onChange: (row: TargetExpression) => void;
  onRemove: () => void;
}) {
  const { path, row, labels, isFrozen, onChange, onRemove } = props;
  const id = useId();
  const { reason, control } = useFieldError<HTMLInputElement>(path);
  const changeKey = (key: string) => {
    const isKept = operatorsFor(key).includes(row.operator);
    onChange({ ...row, key, operator: isKept ? row.operator : 'In' });
  };
  return (
    <div class="target-row row panel">
      <input
        aria-label="Field or label"
        ref={control}
        {...keyProps(id, row.key, reason)}
        onInput={(event) => changeKey(event.currentTarget.value)}
      />
      <Suggestions id={id} options={[...FIELD_KEYS, ...keysOf(labels)]} />
      <OperatorChoice
        operator={row.operator}
        operators={operatorsFor(row.key)}
        onChoose={(operator) => onChange({ ...row, operator })}
      />
      {takesValues(row.operator) && (
        <ChipsInput
          label={`Values of ${row.key}`}
          values={row.values}
          options={
            labels?.keys.find(({ key }) => key === row.key)?.values.map(({ value }) => value) ?? []
          }
          isDisabled={isFrozen}
          onChange={(values) => onChange({ ...row, values })}
        />
      )}
      {!isFrozen && <CrossButton label={`Remove the condition on ${row.key}`} onClick={onRemove} />}
      <Fault id={id} reason={reason} />
    </div>
  );
}

function keysOf(labels: LabelCounts | undefined): readonly string[] {
  return labels?.keys.map(({ key }) => key) ?? [];
}

/** Attributes of the input for the key of a row; `reason` says why the row is not accepted. */
function keyProps(id: string, key: string, reason: string | undefined) {
  return {
    ...{ class: 'target-key', list: id, dir: 'auto' as const, value: key, title: key },
    ...(reason !== undefined && { 'aria-invalid': true, 'aria-describedby': `${id}-error` }),
  };
}

/** Why a row is not accepted. */
function Fault({ id, reason }: { id: string; reason: string | undefined }) {
  if (reason === undefined) return null;
  return (
    <p class="bad-text fault" id={`${id}-error`} role="alert">
      {reason}
    </p>
  );
}

function OperatorChoice(props: {
  operator: TargetOperator;
  operators: readonly TargetOperator[];
  onChoose: (operator: TargetOperator) => void;
}) {
  const { operator, operators, onChoose } = props;
  return (
    <select
      aria-label="Comparison"
      value={operator}
      onChange={(event) => onChoose(event.currentTarget.value as TargetOperator)}
    >
      {operators.map((each) => (
        <option key={each} value={each}>
          {OPERATOR_WORDS[each]}
        </option>
      ))}
    </select>
  );
}
