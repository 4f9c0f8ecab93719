// A wait with a time limit.

/** Returns the outcome of the work; undefined after `waitMsMax`, while the work continues. */
export async function withinTime<Value>(
  work: Promise<Value>,
  waitMsMax: number,
): Promise<Value | undefined> {
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<undefined>((resolve) => {
    timer = setTimeout(resolve, waitMsMax, undefined);
  });
  try {
    return await Promise.race([work, timeout]);
  } finally {
    clearTimeout(timer);
  }
}
