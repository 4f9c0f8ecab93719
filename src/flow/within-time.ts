// Waits with a time limit.

/** Returns the outcome of the work; undefined after `waitMsMax`, while the work continues. */
export async function withinTime<Value>(
  work: Promise<Value>,
  waitMsMax: number,
): Promise<Value | undefined> {
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<undefined>((resolve) => {
    timer = setTimeout(resolve, Math.max(0, waitMsMax), undefined);
  });
  try {
    return await Promise.race([work, timeout]);
  } finally {
    clearTimeout(timer);
  }
}

/** Returns the outcome of the work; after `waitMsMax`, rejects with the error of `late`. The work goes on. */
export async function demandWithin<Value>(
  work: Promise<Value>,
  waitMsMax: number,
  late: (waitMsMax: number) => Error,
): Promise<Value> {
  const outcome = await withinTime(
    work.then((value) => ({ value })),
    waitMsMax,
  );
  if (outcome === undefined) throw late(waitMsMax);
  return outcome.value;
}
