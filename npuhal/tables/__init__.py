"""The HAL's declarations as text, one module per chapter; `npuhal.declarations` reads them on demand."""
