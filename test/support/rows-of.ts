// Tables of tests in text: what is expected, then the inputs for which it is.

/** Returns the rows of lines such as `expected: input | input`, each input with what is expected of it. */
export function rowsOf(table: string): (readonly [input: string, expected: string])[] {
  return table
    .trim()
    .split('\n')
    .flatMap((line) => {
      const [expected = '', inputs = ''] = line.trim().split(/:(.*)/);
      return inputs.split('|').map((input) => [input.trim(), expected] as const);
    });
}
