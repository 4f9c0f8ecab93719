// Row of the targeting editor for one label and its accepted values.

import { useId } from 'preact/hooks';
import type { LabelCounts } from '../../contract/console.ts';
import { countText } from '../format/figure-text.ts';
import type { LabelRow } from '../format/targeting.ts';
import { ChipsInput } from './chips-input.tsx';

/** Row of a label; `locked` values must stay, undefined while everything may change. */
export function LabelTargetRow(props: {
  row: LabelRow;
  labels: LabelCounts | undefined;
  locked: readonly string[] | undefined;
  onChange: (row: LabelRow) => void;
  onRemove: () => void;
}) {
  const { row, labels, locked, onChange, onRemove } = props;
  const id = useId();
  const known = labels?.keys.find(({ key }) => key === row.key);
  const devices = known?.values
    .filter(({ value }) => row.values.includes(value))
    .reduce((sum, each) => sum + each.devices, 0);
  return (
    <div class="target-row">
      <input
        class="target-key"
        aria-label="Label"
        placeholder="label"
        list={id}
        dir="auto"
        value={row.key}
        readOnly={locked !== undefined}
        onInput={(event) => onChange({ ...row, key: event.currentTarget.value })}
      />
      <datalist id={id}>
        {labels?.keys.map(({ key }) => (
          <option key={key} value={key} />
        ))}
      </datalist>
      <span class="target-word">is</span>
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
      <button
        type="button"
        class="icon-button"
        aria-label={`Remove the label ${row.key}`}
        onClick={onRemove}
      >
        ×
      </button>
    </div>
  );
}
