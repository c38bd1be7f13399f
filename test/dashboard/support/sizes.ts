/** The screens that every page has to fit. */
export const DESK = { width: 1440, height: 900 };
export const PHONE = { width: 390, height: 844 };
