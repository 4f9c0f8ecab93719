// Table whose rows become blocks with labelled values on a narrow screen, and its column of buttons.

import type { ComponentChildren } from 'preact';
import { SmallButton } from '../form/small-button.tsx';

export type Column<Row> = {
  readonly label: string;
  readonly render: (row: Row) => ComponentChildren;
  readonly isNumber?: boolean;
  /** Whether a narrow screen shows the header beside the value, which says too little by itself. */
  readonly isNamed?: boolean;
  /** Whether the header is only for screen readers, as for a column of buttons. */
  readonly isAction?: boolean;
};

type TableProps<Row> = {
  caption: string;
  columns: readonly Column<Row>[];
  rows: readonly Row[];
  classOf?: (row: Row) => string | undefined;
};

/** What a row is known by: its id, where it has one and nothing else is said. */
type Keyed<Row> = [Row] extends [{ readonly id: string }]
  ? { keyOf?: (row: Row) => string }
  : { keyOf: (row: Row) => string };

/** Table; `caption` names it for screen readers. */
export function DataTable<Row>(props: TableProps<Row> & Keyed<Row>) {
  const { caption, columns, rows, keyOf = idOf, classOf } = props;
  return (
    <table class="table">
      <caption class="unseen">{caption}</caption>
      <thead>
        <tr>
          {columns.map(({ label, isNumber, isAction }) => (
            <th key={label} scope="col" class={isNumber ? 'number' : ''}>
              <span class={isAction ? 'unseen' : ''}>{label}</span>
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {rows.map((row) => (
          <tr key={keyOf(row)} class={classOf?.(row)}>
            {columns.map(({ label, render, ...kind }) => (
              <td key={label} class={cellClass(kind)} data-label={label}>
                {render(row)}
              </td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function idOf<Row>(row: Row): string {
  return (row as { readonly id: string }).id;
}

function cellClass(kind: Pick<Column<never>, 'isNumber' | 'isNamed' | 'isAction'>): string {
  if (kind.isAction) return 'action';
  if (kind.isNumber) return 'number';
  return kind.isNamed ? 'named' : '';
}

/** Column of small buttons; a row for which `of` returns undefined has no button. */
export function buttonColumn<Row>(
  label: string,
  of: (row: Row) => string | undefined,
  onClick: (row: Row) => void,
  verb: (row: Row) => string = () => label,
): Column<Row> {
  return {
    label,
    isAction: true,
    render: (row) => {
      const what = of(row);
      if (what === undefined) return null;
      return (
        <SmallButton of={what} onClick={() => onClick(row)}>
          {verb(row)}
        </SmallButton>
      );
    },
  };
}
