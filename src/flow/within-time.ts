// Wait for an answer, with a time limit.

/** Returns the work's outcome, undefined when it takes longer than `waitMsMax`; the work then goes on. */
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
