// Row of the targeting editor for one expression: field, operator and values.

import { useId } from 'preact/hooks';
import type { LabelCounts } from '../../contract/console.ts';
import type { TargetExpression, TargetOperator } from '../../contract/resource.ts';
import { FIELD_KEYS, operatorsFor, takesValues } from '../format/targeting.ts';
import { ChipsInput } from './chips-input.tsx';

const OPERATOR_WORDS: Readonly<Record<TargetOperator, string>> = {
  In: 'is one of',
  NotIn: 'is none of',
  Exists: 'is set',
  DoesNotExist: 'is not set',
  VersionGte: 'is at least',
  VersionLt: 'is older than',
};

/** Row of an expression; `isFrozen` makes it read-only. */
export function ExpressionRow(props: {
  row: TargetExpression;
  labels: LabelCounts | undefined;
  isFrozen: boolean;
  onChange: (row: TargetExpression) => void;
  onRemove: () => void;
}) {
  const { row, labels, isFrozen, onChange, onRemove } = props;
  const id = useId();
  const changeKey = (key: string) => {
    const isKept = operatorsFor(key).includes(row.operator);
    onChange({ ...row, key, operator: isKept ? row.operator : 'In' });
  };
  return (
    <div class="target-row">
      <input
        class="target-key"
        aria-label="Field or label"
        list={id}
        dir="auto"
        value={row.key}
        onInput={(event) => changeKey(event.currentTarget.value)}
      />
      <datalist id={id}>
        {[...FIELD_KEYS, ...(labels?.keys.map(({ key }) => key) ?? [])].map((key) => (
          <option key={key} value={key} />
        ))}
      </datalist>
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
      {!isFrozen && (
        <button
          type="button"
          class="icon-button"
          aria-label={`Remove the condition on ${row.key}`}
          onClick={onRemove}
        >
          ×
        </button>
      )}
    </div>
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
