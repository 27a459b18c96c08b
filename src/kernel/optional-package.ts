/** Whether an optional peer is installed beside Culvert and could be loaded. Only looks for files. */
export function isInstalled(name: string): boolean {
  try {
    import.meta.resolve(name);
    return true;
  } catch {
    return false;
  }
}
