// Editor of a release's targeting: labels and expressions in rows. Labels of the fleet are
// suggested, and parts that can no longer change are read-only.

import type { LabelCounts } from '../../contract/console.ts';
import type { TargetExpression, Targeting } from '../../contract/resource.ts';
import type { TargetingDraft } from '../format/targeting.ts';
import { ExpressionRow } from './expression-row.tsx';
import { LabelTargetRow } from './label-target-row.tsx';
import { Notice } from './notice.tsx';

/**
 * Targeting editor. `offered` is the targeting with which the release was already offered: from then on a
 * label may only gain values or go, and conditions stay as they are.
 */
export function TargetingEditor(props: {
  draft: TargetingDraft;
  onChange: (draft: TargetingDraft) => void;
  labels: LabelCounts | undefined;
  offered?: { readonly targets: Targeting | null };
}) {
  const { draft, onChange, labels, offered } = props;
  return (
    <div class="targeting">
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
        <button
          type="button"
          class="button plain small"
          onClick={() => onChange({ ...draft, labels: [...rows, { key: '', values: [] }] })}
        >
          Add a label
        </button>
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
          row={row}
          labels={labels}
          isFrozen={isFrozen}
          onChange={(changed) => onChange({ ...draft, expressions: rows.with(index, changed) })}
          onRemove={() => onChange({ ...draft, expressions: rows.toSpliced(index, 1) })}
        />
      ))}
      {!isFrozen && (
        <button
          type="button"
          class="button plain small"
          onClick={() => onChange({ ...draft, expressions: [...rows, NEW_EXPRESSION] })}
        >
          Add a condition
        </button>
      )}
    </fieldset>
  );
}
