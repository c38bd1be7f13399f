/** An edit that does not apply to a text; the message is for the model. */
export class EditError extends Error {
  override readonly name = 'EditError';
}
