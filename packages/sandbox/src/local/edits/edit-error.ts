/** An edit that cannot be made to a text as it is; the message is for the model. */
export class EditError extends Error {
  override readonly name = 'EditError';
}
