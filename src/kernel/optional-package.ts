/** Whether an optional peer stands beside Culvert and could be loaded; looks for files alone. */
export function isInstalled(name: string): boolean {
  try {
    import.meta.resolve(name);
    return true;
  } catch {
    return false;
  }
}
