import { type ComponentProps, type ReactNode, useId } from "react";

/** A form. `submit` runs in place of the browser's own request. */
export function Form({ submit, ...others }: FormParts): ReactNode {
  return (
    <form
      {...others}
      onSubmit={(event) => {
        event.preventDefault();
        submit();
      }}
    />
  );
}
type FormParts = Omit<ComponentProps<"form">, "onSubmit"> & { submit: () => void };

/** A field with its label, explanation and error. */
export function Field({ label, about, error, children }: FieldParts): ReactNode {
  const id = useId();
  const [hint, wrong] = [`${id}-hint`, `${id}-wrong`];
  const described = [about === undefined ? "" : hint, error === undefined ? "" : wrong].filter(Boolean).join(" ");
  return (
    <div className="field">
      <label htmlFor={id}>{label}</label>
      {children({
        id,
        "aria-invalid": error !== undefined,
        ...(described === "" ? {} : { "aria-describedby": described }),
      })}
      {about === undefined ? null : (
        <span id={hint} className="hint">
          {about}
        </span>
      )}
      {error === undefined ? null : (
        <span id={wrong} className="badge bad">
          {error}
        </span>
      )}
    </div>
  );
}
type Labelled = { label: string; about?: ReactNode; error?: string | undefined };
type FieldParts = Labelled & {
  children: (props: { id: string; "aria-invalid": boolean; "aria-describedby"?: string }) => ReactNode;
};

/** A field for a text, such as a name, a number or a day. */
export function TextField({ label, about, error, text, set, ...others }: TextFieldParts): ReactNode {
  return (
    <Field {...{ label, about, error }}>
      {(props) => (
        <input autoComplete="off" {...props} {...others} value={text} onChange={({ target }) => set(target.value)} />
      )}
    </Field>
  );
}
type TextFieldParts = Labelled &
  Omit<ComponentProps<"input">, "onChange" | "value" | "id"> & { text: string; set: (text: string) => void };

type Options<T> = readonly (readonly [T, string])[];

/** A field with a list of choices: each value with its words. */
export function SelectField<T extends string>({ label, value, options, set }: SelectParts<T>): ReactNode {
  return (
    <Field label={label}>
      {(props) => (
        <select {...props} value={value} onChange={({ target }) => set(target.value as T)}>
          {options.map(([each, words]) => (
            <option key={each} value={each}>
              {words}
            </option>
          ))}
        </select>
      )}
    </Field>
  );
}
type SelectParts<T> = { label: string; value: T | undefined; options: Options<T>; set: (value: T) => void };

/** One choice of a few, such as a range: radio buttons in a row. */
export function Segments<T extends string>({ label, value, options, set }: SelectParts<T>): ReactNode {
  const name = useId();
  return (
    <fieldset className="segments" aria-label={label}>
      {options.map(([option, text]) => (
        <label key={option}>
          <input type="radio" name={name} checked={option === value} onChange={() => set(option)} />
          {text}
        </label>
      ))}
    </fieldset>
  );
}

/** One choice of a few that need an explanation: radio buttons in boxes. @param isHidden Only screen readers say `label`. */
export function Choices<T>({ label, isHidden = false, options, value, set }: ChoicesParts<T>): ReactNode {
  const name = useId();
  return (
    <fieldset className="stack tight">
      <legend className={isHidden ? "hidden" : undefined}>{label}</legend>
      <div className="choices">
        {options.map(({ value: option, title, about, disabled }) => (
          <label key={String(option)} className="choice">
            <input
              type="radio"
              name={name}
              disabled={disabled}
              checked={option === value}
              onChange={() => set(option)}
            />
            <span>
              {about === undefined ? title : <strong>{title}</strong>}
              {about === undefined ? null : <span className="small quiet">{about}</span>}
            </span>
          </label>
        ))}
      </div>
    </fieldset>
  );
}
type ChoicesParts<T> = {
  label: string;
  isHidden?: boolean;
  options: readonly { value: T; title: ReactNode; about?: ReactNode; disabled?: boolean }[];
  value: T;
  set: (value: T) => void;
};
