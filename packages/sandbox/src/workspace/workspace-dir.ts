/** The path of a workspace for commands that have a file system of their own. */
export const WORKSPACE_DIR = '/workspace';
