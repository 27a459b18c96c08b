/**
 * The result of `work`, or `late` if it takes longer than `ms`: the work goes on then. Rejects as the work does in time.
 * The wait alone does not keep the process alive.
 */
export async function withinMs<T, Late extends string | boolean | object | null>(
  ms: number,
  work: T | Promise<T>,
  late: Late,
): Promise<T | Late> {
  if (!(work instanceof Promise)) return work;
  const over = Promise.withResolvers<Late>();
  const timer = setTimeout(over.resolve, ms, late).unref();
  try {
    return await Promise.race([work, over.promise]);
  } finally {
    clearTimeout(timer);
  }
}
